package io.jrun.agent.image.pull;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.ImageReference;
import io.jrun.agent.image.ImageCache;
import io.jrun.agent.image.ImagePreparer;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;

/**
 * The main class of the process that prepares one image. The process prints its progress, then the path of the image's
 * entry in the cache, or one sentence with the reason of the failure. The process ends when its standard input ends.
 */
public final class ImageMain {
    private ImageMain() {}

    /**
     * Prepares one image.
     *
     * @param args the image
     */
    public static void main(String[] args) {
        Thread.ofPlatform().daemon().name("jrun-image-parent").start(ImageMain::endWithParent);
        String end;
        try {
            ProxySettings.apply(System.getenv());
            end = ImagePreparer.PREPARED + prepare(args[0], System.getenv());
        } catch (ContainerException e) {
            end = ImagePreparer.FAILED + oneLine(String.valueOf(e.getMessage()));
        } catch (IOException | RuntimeException e) {
            end = ImagePreparer.FAILED + "the image " + args[0] + " cannot be prepared: " + oneLine(e.toString());
        } catch (InterruptedException e) {
            end = ImagePreparer.FAILED + "the image " + args[0] + " cannot be prepared: interrupted";
        }
        print(end);
        System.out.flush();
        // Threads of the HTTP client may still run.
        Runtime.getRuntime().halt(end.startsWith(ImagePreparer.FAILED) ? 1 : 0);
    }

    private static Path prepare(String image, Map<String, String> environment)
            throws ContainerException, IOException, InterruptedException {
        ImageCache cache = ImageCache.open(environment);
        ImageReference reference = ImageReference.parse(image);
        try (ImageSource source = switch (reference) {
            case ImageReference.Local local -> StoredImages.open(local.path());
            case ImageReference.Registry registry -> new RegistrySource(registry, environment);
        }) {
            return new ImagePull(
                            source,
                            cache,
                            DiskRoom.limit(environment),
                            line -> print(ImagePreparer.PROGRESS + line),
                            ImageMain::fail)
                    .run();
        }
    }

    private static void fail(String sentence) {
        print(ImagePreparer.FAILED + sentence);
        Runtime.getRuntime().halt(1);
    }

    private static synchronized void print(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static String oneLine(String text) {
        return text.strip().replaceAll("\\s+", " ");
    }

    /** Ends this process with its parent. The next process that prepares the image removes the remaining files. */
    private static void endWithParent() {
        try {
            while (System.in.read() >= 0) {
                Thread.onSpinWait();
            }
        } catch (IOException e) {
            // The parent has ended.
        }
        Runtime.getRuntime().halt(1);
    }
}

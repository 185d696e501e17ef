package io.jrun.agent.job;

import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchService;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Does what its first argument says. */
public final class JvmWorkerMain {
    private JvmWorkerMain() {}

    /**
     * {@code wait FOLDER NAME}: until that file exists. {@code echo TEXT}: that and the variable GREETING. {@code
     * fail}: throws. {@code fill}: until the heap is full.
     */
    public static void main(String[] args) throws IOException, InterruptedException {
        switch (args[0]) {
            case "wait" -> awaitFile(Path.of(args[1]), args[2]);
            case "echo" -> System.out.println(args[1] + "\n" + System.getenv("GREETING"));
            case "fail" -> throw new IllegalStateException("no more cheese");
            case "fill" -> fill();
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    private static void fill() {
        List<byte[]> all = new ArrayList<>();
        while (all.size() < Integer.MAX_VALUE) {
            all.add(new byte[1 << 20]);
        }
    }

    private static void awaitFile(Path folder, String name) throws IOException, InterruptedException {
        try (WatchService watch = FileSystems.getDefault().newWatchService()) {
            folder.register(watch, StandardWatchEventKinds.ENTRY_CREATE);
            System.out.println("ready");
            while (!Files.exists(folder.resolve(name))) {
                watch.poll(1, TimeUnit.SECONDS);
            }
        }
    }
}

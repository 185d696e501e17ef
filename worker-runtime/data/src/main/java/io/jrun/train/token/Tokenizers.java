package io.jrun.train.token;

import io.jrun.comm.file.FileError;
import io.jrun.train.data.DataException;
import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.ServiceLoader;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Opens {@code tokenizer.json} of Hugging Face. The library that reads the file lies in the folder {@code
 * lib/tokenizers} of the installation. A class loader of its own keeps the library away from the classes of the
 * program.
 */
public final class Tokenizers {
    private static final String FILE = "tokenizer.json";
    private static @Nullable TokenizerProvider provider;

    private Tokenizers() {}

    /** The tokenizer file for a path: the path itself, or {@code tokenizer.json} in the folder. */
    public static Path fileOf(Path path) {
        return Files.isDirectory(path) ? path.resolve(FILE) : path;
    }

    /**
     * Opens a tokenizer. No network is used.
     *
     * @param path a {@code tokenizer.json}, or a folder with this file
     * @throws DataException in one line, if the file is missing or malformed, or the installation lacks the library
     */
    public static Tokenizer open(Path path) {
        Path file = fileOf(path);
        if (!Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
            throw new DataException("there is no tokenizer " + file
                    + ". Copy tokenizer.json from the folder of the model, or take the bytes of the text as tokens.");
        }
        return provider().open(file);
    }

    private static synchronized TokenizerProvider provider() {
        TokenizerProvider found = provider;
        if (found == null) {
            found = ServiceLoader.load(TokenizerProvider.class)
                    .findFirst()
                    .or(() -> ServiceLoader.load(TokenizerProvider.class, installed())
                            .findFirst())
                    .orElseThrow(() -> new DataException(
                            "this installation has no library of tokenizers in " + folder() + ". Install jrun again."));
            provider = found;
        }
        return found;
    }

    /** The loader stays open with the process. */
    private static ClassLoader installed() {
        Path folder = folder();
        if (!Files.isDirectory(folder)) {
            return ClassLoader.getPlatformClassLoader();
        }
        try (Stream<Path> jars = Files.list(folder)) {
            List<Path> files =
                    jars.filter(file -> file.toString().endsWith(".jar")).toList();
            URL[] urls = new URL[files.size()];
            for (int i = 0; i < urls.length; i++) {
                urls[i] = files.get(i).toUri().toURL();
            }
            return new URLClassLoader(urls, new RuntimeClasses());
        } catch (MalformedURLException e) {
            throw new IllegalStateException("each file has a URL", e);
        } catch (IOException e) {
            throw new DataException("cannot list " + folder + ": " + FileError.reason(e, folder), e);
        }
    }

    /** {@code lib/tokenizers}, beside {@code lib/runtime} with the jar of this class. */
    private static Path folder() {
        try {
            Path own = Path.of(Tokenizers.class
                    .getProtectionDomain()
                    .getCodeSource()
                    .getLocation()
                    .toURI());
            return own.resolveSibling("../tokenizers").normalize();
        } catch (URISyntaxException e) {
            throw new IllegalStateException("each file has a path", e);
        }
    }

    /** Gives a library the classes of the JDK and of jrun, and no other class of the program. */
    private static final class RuntimeClasses extends ClassLoader {
        RuntimeClasses() {
            super(ClassLoader.getPlatformClassLoader());
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            if (name.startsWith("io.jrun.train.") || name.startsWith("io.jrun.comm.file.")) {
                return Tokenizers.class.getClassLoader().loadClass(name);
            }
            throw new ClassNotFoundException(name);
        }
    }
}

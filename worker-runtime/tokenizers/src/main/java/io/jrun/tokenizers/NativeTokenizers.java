package io.jrun.tokenizers;

import ai.djl.huggingface.tokenizers.jni.TokenizersLibrary;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/**
 * The native library of the tokenizers. DJL's own loader is not used: on a machine with a GPU it downloads another
 * library, and it reports its use to a server.
 */
final class NativeTokenizers {
    private static final String RESOURCE = "/native/lib/linux-x86_64/cpu/libtokenizers.so";
    private static boolean isLoaded;

    private NativeTokenizers() {}

    /**
     * The functions of the library. The first call loads the library from its jar.
     *
     * @throws IllegalStateException if this machine cannot load the library
     */
    static synchronized TokenizersLibrary library() {
        if (!isLoaded) {
            load();
            isLoaded = true;
        }
        return TokenizersLibrary.LIB;
    }

    /** Deletes the file at once: the process keeps the mapped pages, and no file is left. */
    private static void load() {
        try (InputStream in = TokenizersLibrary.class.getResourceAsStream(RESOURCE)) {
            if (in == null) {
                throw new IllegalStateException(
                        "the jar of the tokenizers lacks " + RESOURCE + ". Install jrun again.");
            }
            Path file = Files.createTempFile("jrun-tokenizers-", ".so");
            try {
                Files.copy(in, file, StandardCopyOption.REPLACE_EXISTING);
                System.load(file.toString());
            } finally {
                Files.deleteIfExists(file);
            }
        } catch (IOException | UnsatisfiedLinkError e) {
            throw new IllegalStateException(
                    "cannot load the native library of the tokenizers: " + e.getMessage()
                            + ". The library needs glibc 2.34, and a folder that allows the execution of files; choose"
                            + " the folder with -Djava.io.tmpdir=DIR.",
                    e);
        }
    }
}

package io.jrun.trainer.data;

import io.jrun.comm.Codec;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;
import io.jrun.comm.file.FileError;
import io.jrun.comm.file.TemporaryFolder;
import io.jrun.train.data.DataException;
import io.jrun.train.token.TextSource;
import io.jrun.train.token.TokenFile;
import io.jrun.train.token.TokenIngestion;
import io.jrun.train.token.Tokenizer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/**
 * Text that one rank of each node encodes for the ranks of its node. The file lies in a folder of this user alone,
 * and is deleted when all ranks have mapped the file.
 */
final class TemporaryTokenFile {
    private static final String FAILED = "failed:";
    private static final Codec<String> TEXT = new Codec<>() {
        @Override
        public byte[] encode(String text) {
            return text.getBytes(StandardCharsets.UTF_8);
        }

        @Override
        public String decode(byte[] bytes) {
            return new String(bytes, StandardCharsets.UTF_8);
        }
    };

    private TemporaryTokenFile() {}

    static TokenFile encode(TextSource source, Tokenizer tokenizer, World world) {
        try (ProcessGroup node = world.group().split(world.nodeRank(), world.rank())) {
            if (node.groupRank() > 0) {
                return map(node.objects().broadcast(null, 0, TEXT), node);
            }
            TemporaryFolder folder;
            try {
                folder = TemporaryFolder.make(Path.of(System.getProperty("java.io.tmpdir")), "jrun-tokens-");
            } catch (IOException e) {
                return map(node.objects().broadcast(FAILED + failure(e), 0, TEXT), node);
            }
            try (folder) {
                return map(node.objects().broadcast(write(source, tokenizer, folder.path()), 0, TEXT), node);
            }
        } catch (IOException e) {
            throw new DataException("cannot delete the temporary token file: " + FileError.reason(e, ""), e);
        }
    }

    /** Maps the file that {@code written} names. Returns when all ranks of the node have mapped the file. */
    private static TokenFile map(String written, ProcessGroup node) {
        if (written.startsWith(FAILED)) {
            throw new DataException(written.substring(FAILED.length()));
        }
        TokenFile mapped = TokenFile.open(Path.of(written));
        node.barrier();
        return mapped;
    }

    /** The path of the file, or {@link #FAILED} and the reason. */
    private static String write(TextSource source, Tokenizer tokenizer, Path folder) {
        try {
            Path file = folder.resolve("text" + TokenFile.SUFFIX);
            TokenIngestion.write(source, tokenizer, file, _ -> {});
            return file.toString();
        } catch (DataException e) {
            return FAILED + e.getMessage();
        }
    }

    private static String failure(IOException e) {
        return "cannot make a folder for a temporary token file: " + FileError.reason(e, "")
                + ". Choose another folder with -Djava.io.tmpdir=DIR.";
    }
}

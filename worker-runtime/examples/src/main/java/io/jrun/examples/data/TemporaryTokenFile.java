package io.jrun.examples.data;

import io.jrun.comm.Codec;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;
import io.jrun.train.data.DataException;
import io.jrun.train.token.TextSource;
import io.jrun.train.token.TokenFile;
import io.jrun.train.token.TokenIngestion;
import io.jrun.train.token.Tokenizer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Text that one rank of each node encodes for the ranks of its node. The file is deleted when all ranks have mapped it.
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
            String written = node.objects().broadcast(node.groupRank() == 0 ? write(source, tokenizer) : null, 0, TEXT);
            if (written.startsWith(FAILED)) {
                throw new DataException(written.substring(FAILED.length()));
            }
            Path file = Path.of(written);
            try {
                TokenFile mapped = TokenFile.open(file);
                node.barrier();
                return mapped;
            } finally {
                if (node.groupRank() == 0) {
                    Files.deleteIfExists(file);
                }
            }
        } catch (IOException e) {
            throw new DataException("cannot delete the temporary token file: " + e, e);
        }
    }

    /** The path of the file, or {@link #FAILED} and the reason. */
    private static String write(TextSource source, Tokenizer tokenizer) {
        try {
            Path file = Files.createTempFile("jrun-", TokenFile.SUFFIX);
            try {
                TokenIngestion.write(source, tokenizer, file, _ -> {});
                return file.toString();
            } catch (DataException e) {
                Files.deleteIfExists(file);
                throw e;
            }
        } catch (DataException e) {
            return FAILED + e.getMessage();
        } catch (IOException e) {
            return FAILED + "cannot write a temporary token file: " + e
                    + ". Choose another folder with -Djava.io.tmpdir=DIR.";
        }
    }
}

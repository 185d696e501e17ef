package io.jrun.launcher.cert;

import io.jrun.comm.file.UserFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads and writes files of base64 blocks with headings, which only their user can read. Source: RFC 7468. Stateless.
 */
public final class Pem {
    /** The kind of a block with a key, in the form of PKCS #8. */
    public static final String KEY = "PRIVATE KEY";

    /** The kind of a block with a certificate. */
    public static final String CERTIFICATE = "CERTIFICATE";

    /**
     * The block with the secret of all nodes and users of one authority, see {@code io.jrun.agent.tls.PeerIdentity}.
     */
    static final String SECRET = "JRUN SECRET";

    private static final int LINE_CHARS = 64;
    private static final int MAX_FILE_BYTES = 1 << 20;
    private static final Pattern BLOCK =
            Pattern.compile("-----BEGIN ([A-Z ]+)-----\\s++([A-Za-z0-9+/=\\s]++)-----END \\1-----");

    private Pem() {}

    /** One block, in base64 without line breaks. */
    public record PemBlock(String kind, String base64) {
        static PemBlock of(String kind, byte[] content) {
            return new PemBlock(kind, Base64.getEncoder().encodeToString(content));
        }

        /**
         * The bytes of the block.
         *
         * @throws IllegalArgumentException if the text is no base64
         */
        public byte[] content() {
            return Base64.getDecoder().decode(base64);
        }
    }

    /**
     * The blocks of a file.
     *
     * @throws IOException if {@code file} is no regular file of text, or is larger than 1 MiB
     */
    public static List<PemBlock> read(Path file) throws IOException {
        List<PemBlock> blocks = new ArrayList<>();
        Matcher matcher = BLOCK.matcher(UserFile.text(file, MAX_FILE_BYTES));
        while (matcher.find()) {
            blocks.add(new PemBlock(matcher.group(1), matcher.group(2).replaceAll("\\s", "")));
        }
        return blocks;
    }

    /** @throws IOException also if the file exists already, because a key is never replaced */
    static void write(Path file, List<PemBlock> blocks) throws IOException {
        Files.createDirectories(
                file.getParent(), PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        StringBuilder text = new StringBuilder();
        for (PemBlock block : blocks) {
            text.append("-----BEGIN ").append(block.kind()).append("-----\n");
            text.append(block.base64().replaceAll("(.{" + LINE_CHARS + "})(?=.)", "$1\n"))
                    .append('\n');
            text.append("-----END ").append(block.kind()).append("-----\n");
        }
        try (SeekableByteChannel channel = Files.newByteChannel(
                file,
                Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")))) {
            ByteBuffer bytes = StandardCharsets.US_ASCII.encode(text.toString());
            while (bytes.hasRemaining()) {
                channel.write(bytes);
            }
        } catch (FileAlreadyExistsException e) {
            throw new IOException(file + " exists already; remove it, or choose another --dir or name", e);
        }
    }
}

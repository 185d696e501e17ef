package io.jrun.train.token;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** The id of a tokenizer: the first 16 bytes of the SHA-256 of its definition. */
public final class TokenizerId {
    static final int BYTES = 16;

    private TokenizerId() {}

    /** 32 hexadecimal digits. */
    public static String of(String definition) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(definition.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest, 0, BYTES);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}

package io.jrun.tokenizers;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.train.data.DataException;
import io.jrun.train.token.Tokenizer;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The native library ends its process with most of the unsound maps. */
class CharacterMapTest {
    private static final int UNITS = 768;
    private static final int ROOT = 256;
    private static final int LEAF = 512;
    private static final int HAS_LEAF = 1 << 8;
    /** The text at byte 0 replaces the letter a. */
    private static final byte[] TEXTS = "b\0\u00e4\0".getBytes(StandardCharsets.UTF_8);

    @TempDir
    private Path folder;

    @Test
    void theLibraryReplacesCharactersByASoundMap() throws IOException {
        try (Tokenizer tokenizer = open(map(UNITS * 4, ROOT, LEAF, 0, TEXTS))) {
            assertThat(tokenizer.encode(new byte[] {'a'})).containsExactly(1);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "3072, 1024, 512, 0", // the root points outside
        "3072, 256, 1024, 0", // the leaf
        "3072, 256, 512, 6", // behind the texts
        "4000000000, 256, 512, 0", // the size
    })
    void aMapThatPointsOutsideIsAtMostOneLine(long trieBytes, int root, int leaf, int text) throws IOException {
        try (Tokenizer tokenizer = open(map(trieBytes, root, leaf, text, TEXTS))) {
            assertThat(tokenizer.encode(new byte[] {'a'})).isNotNull();
        } catch (DataException | IllegalArgumentException e) {
            assertThat(e.getMessage()).contains("tokenizer.json").doesNotContain("\n");
        }
    }

    private Tokenizer open(String map) throws IOException {
        String json = """
                {"model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "b": 1, "a": 2}},
                 "normalizer": {"type": "Sequence", "normalizers":
                   [{"type": "Precompiled", "precompiled_charsmap": "%s"}]}}""".formatted(map);
        return new HuggingFaceProvider().open(Files.writeString(folder.resolve("tokenizer.json"), json));
    }

    /** A trie of one letter: the root leads to a block of units, and the letter a to a leaf. */
    private static String map(long trieBytes, int root, int leaf, int text, byte[] texts) {
        int letter = ROOT ^ 'a';
        ByteBuffer bytes = ByteBuffer.allocate(4 + UNITS * 4 + texts.length).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putInt(0, (int) trieBytes);
        bytes.putInt(4, root << 10);
        bytes.putInt(4 + letter * 4, 'a' | HAS_LEAF | (letter ^ leaf) << 10);
        bytes.putInt(4 + LEAF * 4, text | 0x8000_0000);
        bytes.put(4 + UNITS * 4, texts);
        return Base64.getEncoder().encodeToString(bytes.array());
    }
}

package io.jrun.tokenizers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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

/** The native library ends the process with each of the refused files. */
class CharacterMapCheckTest {
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
        "3072, 1024, 512, 0, points outside", // the root
        "3072, 256, 1024, 0, points outside", // the leaf
        "3072, 256, 512, 6, points outside", // behind the texts
        "3072, 256, 512, 3, points outside", // within a character
        "3068, 256, 512, 0, points outside", // a last block without all units
        "3073, 256, 512, 0, no trie of the size that it names",
        "4000000000, 256, 512, 0, no trie of the size that it names",
        "0, 256, 512, 0, no trie of the size that it names"
    })
    void aMapThatPointsOutsideIsRefused(long trieBytes, int root, int leaf, int text, String message) {
        assertThatThrownBy(() -> open(map(trieBytes, root, leaf, text, TEXTS)).close())
                .isInstanceOf(DataException.class)
                .hasMessageContaining("tokenizer.json: the precompiled_charsmap has")
                .hasMessageContaining(message);
    }

    @Test
    void textsAreUtf8() {
        byte[] cut = {'b', 0, (byte) 0xC3};
        assertThat(CharacterMapCheck.problem(map(UNITS * 4L, ROOT, LEAF, 0, cut)))
                .hasValue("has texts that are not UTF-8");
    }

    @ParameterizedTest
    @CsvSource({"%%%, is not base 64", "'', no trie", "AAAA, no trie", "BAAAAAAAAAA=, points outside"})
    void otherBytesAreNoMap(String encoded, String message) {
        assertThat(CharacterMapCheck.problem(encoded))
                .hasValueSatisfying(problem -> assertThat(problem).contains(message));
    }

    @Test
    void piecesOfNoLengthAreRefused() {
        String json = """
                {"model": {"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0}},
                 "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "FixedLength", "length": 0}]}}""";
        assertThatThrownBy(() -> openJson(json).close())
                .isInstanceOf(DataException.class)
                .hasMessageContaining("FixedLength has the length 0, expected 1 or more");
    }

    private Tokenizer open(String map) throws IOException {
        return openJson("""
                {"model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "b": 1, "a": 2}},
                 "normalizer": {"type": "Sequence", "normalizers":
                   [{"type": "Precompiled", "precompiled_charsmap": "%s"}]}}""".formatted(map));
    }

    private Tokenizer openJson(String json) throws IOException {
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

package io.jrun.tokenizers;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Base64;
import java.util.BitSet;
import java.util.Deque;
import java.util.Optional;

/**
 * Checks the character map of a SentencePiece model, whose errors end the process in the native library. The map has the
 * size of a trie in bytes, the trie, and the texts that replace characters. The trie is a double array of 32-bit units
 * of Darts-clone: the next position of a byte is the exclusive or of the byte and the present position. A leaf has the
 * offset of a text. Source: sentencepiece, src/normalizer.cc and third_party/darts_clone/darts.h.
 */
final class CharacterMapCheck {
    private static final int BYTE_VALUES = 256;
    private static final int HAS_LEAF = 1 << 8;
    private static final int IS_LONG_OFFSET = 1 << 9;
    private static final int LABEL = 0x8000_00FF;
    private static final int VALUE = 0x7FFF_FFFF;

    private final ByteBuffer units;
    private final byte[] texts;
    private final BitSet seen = new BitSet();
    private final Deque<Integer> open = new ArrayDeque<>();

    private CharacterMapCheck(ByteBuffer units, byte[] texts) {
        this.units = units;
        this.texts = texts;
    }

    /**
     * Returns what is wrong with a map; empty if each text can be normalized.
     *
     * @param encoded the map in base 64
     */
    static Optional<String> problem(String encoded) {
        byte[] bytes;
        try {
            bytes = Base64.getDecoder().decode(encoded);
        } catch (IllegalArgumentException e) {
            return Optional.of("is not base 64");
        }
        ByteBuffer map = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        long trieBytes = bytes.length < Integer.BYTES ? -1 : Integer.toUnsignedLong(map.getInt());
        if (trieBytes < Integer.BYTES || trieBytes > map.remaining() || trieBytes % Integer.BYTES != 0) {
            return Optional.of("has " + bytes.length + " bytes and no trie of the size that it names");
        }
        ByteBuffer units = map.slice(map.position(), (int) trieBytes).order(ByteOrder.LITTLE_ENDIAN);
        byte[] texts = new byte[map.remaining() - (int) trieBytes];
        map.get(map.position() + (int) trieBytes, texts);
        try {
            StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(texts));
        } catch (CharacterCodingException e) {
            return Optional.of("has texts that are not UTF-8");
        }
        return new CharacterMapCheck(units, texts).walk()
                ? Optional.empty()
                : Optional.of("has a trie that points outside of the map");
    }

    /** Visits each position that the library may reach. Whether all of them, and all texts, are inside. */
    private boolean walk() {
        if (!reach(offset(unit(0)))) {
            return false;
        }
        while (!open.isEmpty()) {
            int base = open.remove();
            for (int c = 1; c < BYTE_VALUES; c++) {
                int unit = unit(base ^ c);
                if ((unit & LABEL) == c) {
                    int next = (base ^ c) ^ offset(unit);
                    if (!reach(next) || ((unit & HAS_LEAF) != 0 && !isText(next))) {
                        return false;
                    }
                }
            }
        }
        return true;
    }

    /** The library reads the unit of a byte before it compares the label, so each byte needs a unit. */
    private boolean reach(int base) {
        if ((base | (BYTE_VALUES - 1)) >= size()) {
            return false;
        }
        if (!seen.get(base)) {
            seen.set(base);
            open.add(base);
        }
        return true;
    }

    /** Whether a leaf names the begin of a text: within the texts, and of a character. */
    private boolean isText(int leaf) {
        int begin = unit(leaf) & VALUE;
        return begin < texts.length ? (texts[begin] & 0xC0) != 0x80 : begin == texts.length;
    }

    private int size() {
        return units.capacity() / Integer.BYTES;
    }

    private int unit(int position) {
        return units.getInt(position * Integer.BYTES);
    }

    private static int offset(int unit) {
        return (unit >>> 10) << ((unit & IS_LONG_OFFSET) >>> 6);
    }
}

package io.jrun.trainer.data;

import io.jrun.comm.Codec;
import io.jrun.comm.ObjectCollectives;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;
import io.jrun.comm.file.FileError;
import io.jrun.comm.file.UserFile;
import io.jrun.train.chat.ChatEncoder;
import io.jrun.train.chat.EncodedChat;
import io.jrun.train.data.DataException;
import io.jrun.train.json.JsonReader;
import io.jrun.train.token.JsonLines;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.zip.CRC32;
import org.jspecify.annotations.Nullable;

/**
 * The conversations of a file of JSON Lines. One rank of each node encodes them, and the ranks of the node hold them in
 * memory.
 *
 * @param identity their number and the checksum of their tokens in words
 */
record ChatFile(List<EncodedChat> chats, String identity) {
    private static final byte FAILED = 1;

    /** Bytes of a conversation beside its tokens and the places of its answers. */
    private static final int HEADER = 2 * Integer.BYTES;

    private static final Codec<byte[]> BYTES = new Codec<>() {
        @Override
        public byte[] encode(byte[] value) {
            return value;
        }

        @Override
        public byte[] decode(byte[] bytes) {
            return bytes;
        }
    };

    private static final EncodedChat NO_CHAT = new EncodedChat(new int[0], new BitSet());

    private record Line(long number, String text) {}

    /** A conversation, or why there is none. */
    private record Result(EncodedChat chat, Optional<String> failure) {}

    /**
     * Reads and encodes a file. Collective over the world.
     *
     * @param maxBytes of the records that are read
     * @throws DataException on all ranks of a node, in one line with the file and the line
     */
    static ChatFile read(Path path, long maxBytes, ChatEncoder encoder, World world) {
        try (ProcessGroup node = world.group().split(world.nodeRank(), world.rank())) {
            byte[] encoded =
                    node.objects().broadcast(node.groupRank() == 0 ? encoded(path, maxBytes, encoder) : null, 0, BYTES);
            if (encoded[0] == FAILED) {
                throw new DataException(new String(encoded, 1, encoded.length - 1, StandardCharsets.UTF_8));
            }
            return decoded(encoded);
        }
    }

    /** The conversations as bytes, or {@link #FAILED} and the reason. */
    private static byte[] encoded(Path path, long maxBytes, ChatEncoder encoder) {
        try {
            List<Result> results = records(path, maxBytes).parallelStream()
                    .map(line -> encode(path, line, encoder))
                    .toList();
            Optional<String> failure =
                    results.stream().flatMap(result -> result.failure.stream()).findFirst();
            return failure.isPresent()
                    ? failure(failure.get())
                    : bytes(path, results.stream().map(Result::chat).toList());
        } catch (DataException e) {
            return failure(String.valueOf(e.getMessage()));
        }
    }

    private static byte[] failure(String words) {
        byte[] reason = words.getBytes(StandardCharsets.UTF_8);
        return ByteBuffer.allocate(1 + reason.length).put(FAILED).put(reason).array();
    }

    private static List<Line> records(Path path, long maxBytes) {
        List<Line> lines = new ArrayList<>();
        long[] bytes = {0};
        try (InputStream in = UserFile.stream(path)) {
            JsonLines.read(path.toString(), in, () -> bytes[0] >= maxBytes, (number, text) -> {
                bytes[0] += text.length();
                lines.add(new Line(number, text));
            });
        } catch (IOException e) {
            throw new DataException("cannot read " + path + ": " + FileError.reason(e, path), e);
        }
        if (lines.isEmpty()) {
            throw new DataException(path + " has no conversation. Each line must be an object with 'messages'.");
        }
        return lines;
    }

    private static Result encode(Path path, Line line, ChatEncoder encoder) {
        Map<String, @Nullable Object> conversation;
        try {
            conversation = JsonReader.readLine(line.number, line.text);
        } catch (IllegalArgumentException e) {
            return new Result(NO_CHAT, Optional.of(path + ", " + e.getMessage()));
        }
        try {
            return new Result(encoder.encode(conversation), Optional.empty());
        } catch (IllegalArgumentException | DataException e) {
            return new Result(NO_CHAT, Optional.of(path + ", line " + line.number + ": " + e.getMessage()));
        }
    }

    private static byte[] bytes(Path path, List<EncodedChat> chats) {
        long size = 1;
        for (EncodedChat chat : chats) {
            size += HEADER + (long) Integer.BYTES * chat.length() + chat.learnedPlaces().length;
        }
        if (size > ObjectCollectives.MAX_BYTES) {
            throw new DataException("the conversations of " + path + " take " + size
                    + " bytes as tokens, more than the " + ObjectCollectives.MAX_BYTES
                    + " that each rank holds in memory. Give less with --max-bytes.");
        }
        ByteBuffer all = ByteBuffer.allocate((int) size).put((byte) 0);
        for (EncodedChat chat : chats) {
            byte[] answers = chat.learnedPlaces();
            all.putInt(chat.length()).putInt(answers.length);
            for (int i = 0; i < chat.length(); i++) {
                all.putInt(chat.token(i));
            }
            all.put(answers);
        }
        return all.array();
    }

    private static ChatFile decoded(byte[] encoded) {
        CRC32 checksum = new CRC32();
        checksum.update(encoded);
        ByteBuffer all = ByteBuffer.wrap(encoded, 1, encoded.length - 1);
        List<EncodedChat> chats = new ArrayList<>();
        while (all.hasRemaining()) {
            int[] tokens = new int[all.getInt()];
            byte[] answers = new byte[all.getInt()];
            for (int i = 0; i < tokens.length; i++) {
                tokens[i] = all.getInt();
            }
            all.get(answers);
            chats.add(new EncodedChat(tokens, BitSet.valueOf(answers)));
        }
        return new ChatFile(
                chats, chats.size() + " conversations with the checksum " + Long.toHexString(checksum.getValue()));
    }
}

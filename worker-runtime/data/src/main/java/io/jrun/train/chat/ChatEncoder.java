package io.jrun.train.chat;

import io.jrun.train.token.Tokenizer;
import java.nio.charset.StandardCharsets;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Encodes conversations. The tokens of an answer are those that the template adds for the answer behind the begin of an
 * answer, with the token that ends the answer. Thread-safe.
 *
 * @param learnsAll whether the model learns to predict all tokens, and not only those of the answers
 */
public record ChatEncoder(ChatTemplate template, Tokenizer tokenizer, boolean learnsAll) {
    private static final String MESSAGES = "messages";

    /**
     * Encodes a conversation: an object of JSON with {@code messages}, a list of objects with {@code role} and {@code
     * content}. The other keys, such as {@code tools}, are variables of the template.
     *
     * @throws IllegalArgumentException in one line, if the object is no conversation, or if the template or the
     *     tokenizer refuses it
     */
    public EncodedChat encode(Map<String, ? extends @Nullable Object> conversation) {
        Map<String, @Nullable Object> others = new LinkedHashMap<>(conversation);
        if (!(others.remove(MESSAGES) instanceof List<?> messages) || messages.isEmpty()) {
            throw new IllegalArgumentException(
                    "lacks 'messages', a list such as [{\"role\": \"user\", \"content\": \"...\"}, ...]");
        }
        messages.forEach(ChatEncoder::requireMessage);
        String whole = template.render(messages, others, false);
        int[] tokens = tokens(whole);
        BitSet answers = new BitSet();
        if (learnsAll) {
            answers.set(1, Math.max(1, tokens.length));
            return new EncodedChat(tokens, answers);
        }
        for (int i = 0; i < messages.size(); i++) {
            if (isAnswer(messages.get(i))) {
                String before = template.render(messages.subList(0, i), others, true);
                String through = template.render(messages.subList(0, i + 1), others, false);
                if (!through.startsWith(before) || !whole.startsWith(through)) {
                    throw new IllegalArgumentException("the template writes message " + (i + 1)
                            + ", an answer, in another way when other messages follow: which tokens are the answer is"
                            + " not known. Give --train-on=all to learn all tokens.");
                }
                int begin = common(tokens, tokens(before));
                answers.set(begin, Math.max(begin, common(tokens, tokens(through))));
            }
        }
        return new EncodedChat(tokens, answers);
    }

    private static void requireMessage(@Nullable Object message) {
        if (!(message instanceof Map<?, ?> map) || !(map.get("role") instanceof String)) {
            throw new IllegalArgumentException("has a message that is no object with 'role' and 'content'");
        }
    }

    private static boolean isAnswer(@Nullable Object message) {
        return message instanceof Map<?, ?> map && "assistant".equals(map.get("role"));
    }

    private int[] tokens(String text) {
        return text.isEmpty() ? new int[0] : tokenizer.encode(text.getBytes(StandardCharsets.UTF_8));
    }

    /** The number of tokens at the begin that are equal. A tokenizer may join the end of one text with the next one. */
    private static int common(int[] whole, int[] begin) {
        int count = 0;
        while (count < begin.length && count < whole.length && whole[count] == begin[count]) {
            count++;
        }
        return count;
    }
}

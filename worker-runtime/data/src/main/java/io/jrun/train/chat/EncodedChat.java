package io.jrun.train.chat;

import java.util.BitSet;

/** The tokens of a conversation. */
public final class EncodedChat {
    private final int[] tokens;
    private final BitSet answers;

    /**
     * The conversation takes over both objects.
     *
     * @param answers the places of the tokens that the model learns to predict
     */
    public EncodedChat(int[] tokens, BitSet answers) {
        this.tokens = tokens;
        this.answers = answers;
    }

    /** The number of tokens. */
    public int length() {
        return tokens.length;
    }

    /** The token at a place. */
    public int token(int place) {
        return tokens[place];
    }

    /** Whether the model learns to predict the token at a place. */
    public boolean isLearned(int place) {
        return answers.get(place);
    }

    /** The places of the tokens that the model learns to predict, as {@link BitSet#toByteArray}. */
    public byte[] learnedPlaces() {
        return answers.toByteArray();
    }
}

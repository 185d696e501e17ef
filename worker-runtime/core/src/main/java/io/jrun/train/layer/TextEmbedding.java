package io.jrun.train.layer;

import io.jrun.comm.Device;
import org.bytedeco.pytorch.Tensor;

/**
 * The sum of a learned vector for each token, {@code tokens}, and one for its position in the text, {@code positions},
 * as in GPT-2. Ranks may share the sequence. The parameters are zero until they are set.
 */
public final class TextEmbedding extends CompositeModule {
    private final TokenEmbedding tokens;
    private final TokenEmbedding positions;
    private final SequencePositions places = add("places", new SequencePositions());

    /**
     * An embedding on a device.
     *
     * @param vocabulary the number of tokens
     * @param context the longest text, in tokens
     */
    public TextEmbedding(long vocabulary, long context, long width, Device device) {
        tokens = add("tokens", new TokenEmbedding(vocabulary, width, device));
        positions = add("positions", new TokenEmbedding(context, width, device));
    }

    /** The vectors [B, S, D] of tokens [B, S] of type Long. */
    public Tensor forward(Tensor tokens_BS) {
        return tokens.forward(tokens_BS).add(positions.forward(places.of(tokens_BS.size(1), tokens_BS)));
    }
}

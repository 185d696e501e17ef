package io.jrun.models.transformer;

/**
 * Llama 3's change of the rotary frequencies for long texts. A frequency whose wave is longer than {@code context /
 * lowFactor} positions is divided by {@code factor}. A frequency whose wave is shorter than {@code context /
 * highFactor} stays. Between them the frequency is a linear mix of both. Source: {@code apply_scaling} in Meta's
 * llama-models, {@code llama3} in Hugging Face's {@code modeling_rope_utils.py}.
 *
 * @param factor how much longer the texts are
 * @param lowFactor at least 0, below {@code highFactor}
 * @param context the longest text in tokens before the change
 */
public record RotaryScaling(double factor, double lowFactor, double highFactor, double context) {
    /** Checks the range. */
    public RotaryScaling {
        if (!(factor > 0 && lowFactor >= 0 && highFactor > lowFactor && context > 0)) {
            throw new IllegalArgumentException("rope_scaling has factor " + factor + ", low_freq_factor " + lowFactor
                    + ", high_freq_factor " + highFactor + " and original_max_position_embeddings " + context
                    + "; expected numbers above 0 and low_freq_factor below high_freq_factor");
        }
    }

    /** The changed frequency, in radians for each position. */
    double scaled(double frequency) {
        double waves = context * frequency / (2 * Math.PI);
        double share = Math.clamp((waves - lowFactor) / (highFactor - lowFactor), 0.0, 1.0);
        return frequency * (share + (1 - share) / factor);
    }
}

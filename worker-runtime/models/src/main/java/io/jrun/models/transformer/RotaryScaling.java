package io.jrun.models.transformer;

/** A change of the rotary frequencies for texts that are longer than those of the first training. */
public sealed interface RotaryScaling {
    /** The changed frequency, in radians for each position. */
    double scaled(double frequency);

    /** The value of {@code rope_scaling} in config.json. */
    String toJson();

    /**
     * Positions are divided by a factor (Chen et al. 2023): {@code linear} in Hugging Face's {@code
     * modeling_rope_utils.py}.
     *
     * @param factor how much longer the texts are; above 0
     */
    record Linear(double factor) implements RotaryScaling {
        /** Checks the range. */
        public Linear {
            if (!(factor > 0)) {
                throw new IllegalArgumentException("rope_scaling has factor " + factor + ", expected a number above 0");
            }
        }

        @Override
        public double scaled(double frequency) {
            return frequency / factor;
        }

        @Override
        public String toJson() {
            return "{\"rope_type\": \"linear\", \"factor\": " + factor + "}";
        }
    }

    /**
     * Llama 3's change. A frequency whose wave is longer than {@code context / lowFactor} positions is divided by
     * {@code factor}. A frequency whose wave is shorter than {@code context / highFactor} stays. Between them the
     * frequency is a linear mix of both. Source: {@code apply_scaling} in Meta's llama-models, {@code llama3} in
     * Hugging Face's {@code modeling_rope_utils.py}.
     *
     * @param factor how much longer the texts are
     * @param lowFactor at least 0, below {@code highFactor}
     * @param context the longest text in tokens before the change
     */
    record Llama3(double factor, double lowFactor, double highFactor, double context) implements RotaryScaling {
        /** Checks the range. */
        public Llama3 {
            if (!(factor > 0 && lowFactor >= 0 && highFactor > lowFactor && context > 0)) {
                throw new IllegalArgumentException("rope_scaling has factor " + factor + ", low_freq_factor "
                        + lowFactor + ", high_freq_factor " + highFactor + " and original_max_position_embeddings "
                        + context + "; expected numbers above 0 and low_freq_factor below high_freq_factor");
            }
        }

        @Override
        public double scaled(double frequency) {
            double waves = context * frequency / (2 * Math.PI);
            double share = Math.clamp((waves - lowFactor) / (highFactor - lowFactor), 0.0, 1.0);
            return frequency * (share + (1 - share) / factor);
        }

        @Override
        public String toJson() {
            return "{\"rope_type\": \"llama3\", \"factor\": " + factor + ", \"low_freq_factor\": " + lowFactor
                    + ", \"high_freq_factor\": " + highFactor + ", \"original_max_position_embeddings\": "
                    + (long) context + "}";
        }
    }
}

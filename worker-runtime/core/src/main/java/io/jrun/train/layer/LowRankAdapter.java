package io.jrun.train.layer;

/**
 * Two linear maps beside a {@link LinearLayer}: a multiple of {@code up(down(x))} is added to the output of the layer.
 * Source: Hu et al. 2021, LoRA, section 4.1. The layer registers the maps under the names that Hugging Face's PEFT
 * gives to them.
 *
 * @param down from the inputs of the layer to the rank of the adapter
 * @param up from the rank of the adapter to the outputs of the layer
 */
public record LowRankAdapter(LinearLayer down, LinearLayer up) {
    /** The name of {@link #down} in the layer. */
    public static final String DOWN = "lora_A";

    /** The name of {@link #up} in the layer. */
    public static final String UP = "lora_B";
}

package io.jrun.examples.gpt;

/** The models that train.jar builds; the names are the words of {@code --model}. */
public enum ModelKind {
    /** GPT-2's layers. */
    GPT,
    /** Llama's layers. */
    LLAMA
}

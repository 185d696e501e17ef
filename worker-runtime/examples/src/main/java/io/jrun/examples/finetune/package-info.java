/** {@code finetune.jar}: trains a model of a Hugging Face folder on, in full or with adapters, or prints its logits. */
@NullMarked
package io.jrun.examples.finetune;

import org.jspecify.annotations.NullMarked;

/**
 * Files of named tensors in the safetensors format (https://github.com/huggingface/safetensors, README "Format"), and
 * the states of modules and optimizers as named tensors. A file is written whole or not at all, and a header is checked
 * against the format before a byte of the file is used. Entry classes: {@code Safetensors}, {@code ModelState}, {@code
 * OptimizerState}. Checkpoints: {@code checkpoint.sharded}.
 *
 * <p>A program that goes on from its newest checkpoint:
 *
 * {@snippet file="io/jrun/train/checkpoint/CheckpointExample.java"}
 */
@NullMarked
package io.jrun.train.checkpoint;

import org.jspecify.annotations.NullMarked;

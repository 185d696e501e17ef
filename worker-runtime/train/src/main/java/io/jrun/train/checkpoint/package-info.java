/**
 * Saves and restores training, in the safetensors format (https://github.com/huggingface/safetensors, README "Format").
 * A file is written whole or not at all, and everything read is checked against the format before a byte of it is used.
 * Entry class: {@code CheckpointDirectory}; for single files
 * {@code Safetensors}.
 */
@NullMarked
package io.jrun.train.checkpoint;

import org.jspecify.annotations.NullMarked;

/**
 * Pre-trained language models as libtorch modules, loaded from and saved to Hugging Face folders. Entry class:
 * {@code ModelFolder}.
 *
 * <p>All ranks load a model:
 *
 * {@snippet file="io/jrun/models/ModelsExample.java"}
 */
@NullMarked
package io.jrun.models;

import org.jspecify.annotations.NullMarked;

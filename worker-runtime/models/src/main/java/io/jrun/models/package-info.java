/**
 * Pre-trained language models as libtorch modules, loaded from and saved to Hugging Face folders. Entry class:
 * {@code ModelFolder}.
 */
@NullMarked
package io.jrun.models;

import org.jspecify.annotations.NullMarked;

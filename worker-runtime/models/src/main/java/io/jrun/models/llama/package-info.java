/** Llama: RMSNorm, rotary position embeddings, grouped-query attention, SwiGLU (Touvron et al. 2023). */
@NullMarked
package io.jrun.models.llama;

import org.jspecify.annotations.NullMarked;

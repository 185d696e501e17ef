/** Low-rank adapters (Hu et al. 2021). */
@NullMarked
package io.jrun.models.lora;

import org.jspecify.annotations.NullMarked;

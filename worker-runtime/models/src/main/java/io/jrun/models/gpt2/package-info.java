/** GPT-2 (Radford et al. 2019). */
@NullMarked
package io.jrun.models.gpt2;

import org.jspecify.annotations.NullMarked;

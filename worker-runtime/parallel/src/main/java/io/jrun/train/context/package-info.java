/**
 * Context parallelism: several ranks share each sequence. Begin with {@link io.jrun.train.context.ContextParallel}.
 * Sources: Liu et al. 2023 (Ring Attention, arXiv 2310.01889), Brandon et al. 2023 (Striped Attention, arXiv
 * 2311.09431) for balanced causal work, Jacobs et al. 2023 (DeepSpeed Ulysses, arXiv 2309.14509).
 */
@NullMarked
package io.jrun.train.context;

import org.jspecify.annotations.NullMarked;

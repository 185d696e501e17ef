/**
 * Training whose states lie in files: ZeRO-Infinity, Rajbhandari et al., arXiv:2104.07857. Entry class:
 * {@code OffloadedOptimizer}.
 */
@NullMarked
package io.jrun.train.offload;

import org.jspecify.annotations.NullMarked;

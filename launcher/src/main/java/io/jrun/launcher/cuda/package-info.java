/** The files with which workers compute on GPUs: libtorch's CUDA build, and CUDA's own libraries. */
@NullMarked
package io.jrun.launcher.cuda;

import org.jspecify.annotations.NullMarked;

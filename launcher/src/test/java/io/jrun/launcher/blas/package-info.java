@NullMarked
package io.jrun.launcher.blas;

import org.jspecify.annotations.NullMarked;

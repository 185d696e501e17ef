/** The options of the programs that choose the device of their ranks. */
@NullMarked
package io.jrun.examples.device;

import org.jspecify.annotations.NullMarked;

/** The options of the programs that choose the device of their ranks. */
@NullMarked
package io.jrun.trainer.device;

import org.jspecify.annotations.NullMarked;

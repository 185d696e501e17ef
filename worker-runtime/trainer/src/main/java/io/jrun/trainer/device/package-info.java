/**
 * The options of the programs that choose the device of their ranks.
 *
 * <p>Internal to jrun: its types are public only for jrun's other packages and modules.
 */
@NullMarked
package io.jrun.trainer.device;

import org.jspecify.annotations.NullMarked;

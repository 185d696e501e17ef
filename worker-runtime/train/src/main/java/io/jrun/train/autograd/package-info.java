/**
 * The few places where training reaches into libtorch's autograd engine, behind one interface: the next version of the
 * presets hides graph nodes, and then only the implementation changes. Entry class:
 * {@code AutogradBridge}.
 */
@NullMarked
package io.jrun.train.autograd;

import org.jspecify.annotations.NullMarked;

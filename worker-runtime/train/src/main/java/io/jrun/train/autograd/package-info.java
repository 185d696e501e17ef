/**
 * The few places where training reaches into libtorch's autograd engine: hooks after gradients, and differentiable operations
 * written in Java. All of it is behind {@code AutogradBridge}, since the next version of the presets hides graph nodes: then
 * only the implementation changes.
 */
@NullMarked
package io.jrun.train.autograd;

import org.jspecify.annotations.NullMarked;

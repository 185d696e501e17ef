/**
 * The places where training uses libtorch's autograd engine: hooks after gradients, and differentiable operations
 * written in Java. {@code AutogradBridge} hides these places, because the next version of the presets hides graph
 * nodes.
 */
@NullMarked
package io.jrun.train.autograd;

import org.jspecify.annotations.NullMarked;

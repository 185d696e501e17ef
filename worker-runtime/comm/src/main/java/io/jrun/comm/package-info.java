/**
 * What a training program sees of jrun's communication layer: the world it was started in, process groups with their
 * collectives, and the key-value store. Entry class: {@code Distributed}.
 */
@NullMarked
package io.jrun.comm;

import org.jspecify.annotations.NullMarked;

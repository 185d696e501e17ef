/**
 * Computes which rank runs on which node: a pure function of the nodes and the requested number of workers, for one
 * node and for many. Entry class: {@code Layout}.
 */
@NullMarked
package io.jrun.launcher.layout;

import org.jspecify.annotations.NullMarked;

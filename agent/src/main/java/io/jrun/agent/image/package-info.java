/**
 * Images on this node: the cache of prepared images ({@code ImageCache}), and the process that fills the cache ({@code
 * ImagePreparer}). The process has its libraries for itself, in {@code lib/image}.
 */
@NullMarked
package io.jrun.agent.image;

import org.jspecify.annotations.NullMarked;

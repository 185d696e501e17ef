/**
 * The API of jrun's communication layer for training programs: the world of a process, process groups with their
 * collectives, and the key-value store. The entry class is {@code Distributed}. All other packages of this module are
 * internal to jrun.
 */
@NullMarked
package io.jrun.comm;

import org.jspecify.annotations.NullMarked;

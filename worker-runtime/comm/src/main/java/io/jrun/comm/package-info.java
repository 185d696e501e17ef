/**
 * The API of jrun's communication layer for training programs: the world of a process, process groups with their
 * collectives, and the key-value store. The entry class is {@code Distributed}.
 *
 * <p>Programs also use {@code elastic} and {@code local}, and implementations of backends use {@code backend}. All
 * other packages of this module are internal to jrun. This package uses no other package of the module.
 *
 * <p>All ranks add their numbers:
 *
 * {@snippet file="io/jrun/comm/WorldExample.java"}
 */
@NullMarked
package io.jrun.comm;

import org.jspecify.annotations.NullMarked;

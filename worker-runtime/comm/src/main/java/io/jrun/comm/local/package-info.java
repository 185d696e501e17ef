/**
 * What stands in for agents and coordinator when all ranks are threads of one JVM. Entry class:
 * {@code LocalCoordinator}.
 */
@NullMarked
package io.jrun.comm.local;

import org.jspecify.annotations.NullMarked;

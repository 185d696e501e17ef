/**
 * The start and end of a worker process of a Java program. The entry class is {@code WorkerMain}. The agent puts
 * {@code WorkerMain} before the user's main class.
 */
@NullMarked
package io.jrun.comm.worker;

import org.jspecify.annotations.NullMarked;

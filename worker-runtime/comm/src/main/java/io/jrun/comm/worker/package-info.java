/**
 * How a worker process of a Java program starts and ends. Entry class: {@code WorkerMain}, which the
 * agent puts before the user's main class.
 */
@NullMarked
package io.jrun.comm.worker;

import org.jspecify.annotations.NullMarked;

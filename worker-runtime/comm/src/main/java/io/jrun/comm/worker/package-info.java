/**
 * The start and end of a worker process of a Java program. The entry class is {@code WorkerMain}. The agent puts
 * {@code WorkerMain} before the user's main class.
 *
 * <p>Internal to jrun: its types are public only for jrun's other packages and modules. May use the root package,
 * {@code control}, {@code file} and {@code flight}.
 */
@NullMarked
package io.jrun.comm.worker;

import org.jspecify.annotations.NullMarked;

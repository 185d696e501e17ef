/**
 * The files that a user names: the one way to open them for reading, the one way to write them, and the words of their
 * errors. Entry classes: {@code UserFile}, {@code OutputFile}, {@code TemporaryFolder} and
 * {@code FileError}.
 *
 * <p>Internal to jrun: its types are public only for jrun's other packages and modules. May use only the root package.
 */
@NullMarked
package io.jrun.comm.file;

import org.jspecify.annotations.NullMarked;

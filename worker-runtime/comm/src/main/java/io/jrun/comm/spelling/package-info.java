/**
 * The name that a user probably meant by a mistyped one. Entry class: {@code SimilarName}.
 *
 * <p>Internal to jrun: its types are public only for jrun's other packages and modules. May use no other package.
 */
@NullMarked
package io.jrun.comm.spelling;

import org.jspecify.annotations.NullMarked;

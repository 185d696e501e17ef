/**
 * The runtime of process groups: their operations, their failure, and their views.
 *
 * <p>Internal to jrun: its types are public only for jrun's other packages and modules. May use the root package,
 * {@code backend}, {@code control}, {@code cuda}, {@code flight}, {@code message}, {@code object}, {@code operation},
 * {@code record}, {@code staging}, {@code store} and {@code timeline}.
 */
@NullMarked
package io.jrun.comm.group;

import org.jspecify.annotations.NullMarked;

/**
 * The backend {@code gloo}: libtorch's ProcessGroupGloo over TCP, as torch.distributed uses it on CPUs. Entry classes:
 * {@link io.jrun.train.gloo.GlooProvider} for groups, {@link io.jrun.train.gloo.GlooMeeting} for programs that want the
 * libtorch object itself.
 */
@NullMarked
package io.jrun.train.gloo;

import org.jspecify.annotations.NullMarked;

/**
 * The ranks of a job as a mesh with named axes, the groups along its axes, and tensors that are split along axes. Begin
 * with {@link io.jrun.train.mesh.DeviceMesh}.
 */
@NullMarked
package io.jrun.train.mesh;

import org.jspecify.annotations.NullMarked;

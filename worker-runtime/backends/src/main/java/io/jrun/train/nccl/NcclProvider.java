package io.jrun.train.nccl;

import io.jrun.comm.Device;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.BackendFactory;
import io.jrun.comm.backend.BackendProvider;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.GroupRendezvous;
import io.jrun.comm.backend.WorldContext;
import io.jrun.comm.cuda.Cuda;
import io.jrun.comm.cuda.MissingLibraryException;
import java.util.Optional;

/** The backend {@code nccl}. */
public final class NcclProvider implements BackendProvider {
    @Override
    public String name() {
        return "nccl";
    }

    @Override
    public Optional<String> unavailableReason() {
        try {
            Nccl _ = Nccl.open();
            return Cuda.open().devices() > 0
                    ? Optional.empty()
                    : Optional.of("this process sees no GPU. Check nvidia-smi and CUDA_VISIBLE_DEVICES");
        } catch (MissingLibraryException missing) {
            return Optional.of(String.valueOf(missing.getMessage()));
        }
    }

    @Override
    public boolean usesDevices() {
        return true;
    }

    @Override
    public BackendFactory create(WorldContext world, GroupRendezvous rendezvous) {
        Nccl nccl = Nccl.open();
        Cuda cuda = Cuda.open();
        // A worker of a Java program usually sees its own GPU only. If a worker sees all GPUs, the local rank chooses
        // the GPU.
        int device = world.localRank() % cuda.devices();
        return new Factory(nccl, cuda, Device.cuda(device), rendezvous);
    }

    private record Factory(Nccl nccl, Cuda cuda, Device device, GroupRendezvous rendezvous) implements BackendFactory {
        @Override
        public Backend create(GroupContext group) {
            return new NcclBackend(nccl, cuda, device, group, rendezvous);
        }

        @Override
        public boolean supports(Device memory) {
            return memory.equals(device);
        }

        @Override
        public void close() {}
    }
}

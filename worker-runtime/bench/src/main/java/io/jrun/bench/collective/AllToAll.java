package io.jrun.bench.collective;

/** Every rank gets its block of every rank's input. */
final class AllToAll implements BlockOperation {
    @Override
    public String name() {
        return "alltoall";
    }

    @Override
    public void run(BenchCase cell) {
        cell.group().allToAll(cell.input(), cell.result(), cell.type(), cell.block());
    }

    @Override
    public Expected expected(BenchCase cell) {
        long block = cell.block();
        long first = cell.rank() * block;
        return new Expected(block * cell.group().size(), i -> cell.value(i / block, first + i % block));
    }
}

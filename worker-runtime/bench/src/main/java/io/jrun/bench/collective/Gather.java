package io.jrun.bench.collective;

/** Rank 0 gets the blocks of all ranks. */
final class Gather implements BlockOperation {
    @Override
    public String name() {
        return "gather";
    }

    @Override
    public void run(BenchCase cell) {
        cell.group().gather(cell.input(), cell.result(), cell.type(), cell.block(), 0);
    }

    @Override
    public Expected expected(BenchCase cell) {
        long block = cell.block();
        long count = cell.rank() == 0 ? block * cell.group().size() : 0;
        return new Expected(count, i -> cell.value(i / block, i % block));
    }
}

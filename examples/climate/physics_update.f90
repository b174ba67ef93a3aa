! Heat on a plate: how much the temperature of every point changes in a step of dt, by the 5-point stencil. The edge keeps its temperature.
! in: T f64[n,m], dt f64; out: dT f64[n,m]. Row-major n x m is m x n here. Every product and sum is written in the order that
! physics_update.c has, so both give the same bits.
subroutine physics_update(in, n_in, out, n_out, info) bind(C, name="physics_update")
  use, intrinsic :: iso_c_binding
  implicit none
  include 'rlx_custom.inc'
  integer(c_int), value :: n_in, n_out
  type(rlx_custom_tensor), intent(in) :: in(n_in), out(n_out)
  type(rlx_custom_info), intent(in) :: info
  real(c_double), pointer, contiguous :: t(:, :), change(:, :)
  real(c_double), pointer :: dt

  call c_f_pointer(in(1)%data, t, [in(1)%dims(2), in(1)%dims(1)])
  call c_f_pointer(in(2)%data, dt)
  call c_f_pointer(out(1)%data, change, [out(1)%dims(2), out(1)%dims(1)])
  call rows_update(change, t, in(1)%dims(2), in(1)%dims(1), info%row_begin + 1, info%row_end, dt * 10.0_c_double)

contains

  subroutine rows_update(change, t, m, n, first, last, factor)
    integer(c_int64_t), intent(in) :: m, n, first, last
    real(c_double), intent(in) :: t(m, n), factor
    real(c_double), intent(inout) :: change(m, n)
    integer(c_int64_t) :: i, j

    do j = first, last
      if (j == 1 .or. j == n) then
        do i = 1, m
          change(i, j) = 0.0_c_double
        end do
      else
        change(1, j) = 0.0_c_double
        do i = 2, m - 1
          change(i, j) = factor * (((t(i, j - 1) + t(i, j + 1)) + (t(i - 1, j) + t(i + 1, j))) - 4.0_c_double * t(i, j))
        end do
        change(m, j) = 0.0_c_double
      end if
    end do
  end subroutine

end subroutine

! The rows may be computed apart, by several threads.
subroutine physics_update_split() bind(C, name="rlx_custom_split_physics_update")
end subroutine
